"""`anabranch reproduce`: the figures and tables of the five papers, ours beside them."""
