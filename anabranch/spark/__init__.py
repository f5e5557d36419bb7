"""Every line that imports pyspark: hosts for the kernel."""
