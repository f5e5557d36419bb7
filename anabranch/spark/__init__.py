"""Every line that imports pyspark: hosts for the kernel."""

from pyspark.sql import Column, DataFrame

__all__ = ["Column", "DataFrame"]
