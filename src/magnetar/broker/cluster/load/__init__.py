"""The rules by which bundles are placed, moved and split: numbers in, choices out."""
