"""What models will read, estimated from a sample of instances without loading a model."""
