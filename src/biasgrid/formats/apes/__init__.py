"""Reading and writing of APES's files (github.com/goel-shashank/APES): examples and predictions."""
