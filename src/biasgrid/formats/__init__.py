"""Files of other projects, read and written."""
