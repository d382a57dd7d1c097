"""What asking extractive question-answering models needs."""
