"""The version, apart so that a build need not import the package."""

VERSION = "0.1.0"
