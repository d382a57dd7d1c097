"""What is made of measures before it is drawn or told."""
