"""Copy: y = alpha x, cast between dtypes, through a ring of bulk copies; the smallest family that has every part."""
