"""Who gets which entry: pure choices, one file per rule."""
