"""How sure the numbers of a grid will be, by how much of it is asked."""
