"""The lines of word lists, the subjects in them, and files of stereotypes."""
