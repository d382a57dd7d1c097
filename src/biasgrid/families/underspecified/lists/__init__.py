"""The lines of word lists, what subjects they hold, and files of stereotypes."""
