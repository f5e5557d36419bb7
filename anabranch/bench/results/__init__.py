"""`anabranch results`: the page of results and the table of the README, made from data."""
