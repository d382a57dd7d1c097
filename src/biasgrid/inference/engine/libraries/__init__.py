"""Libraries that may compute in torch's place on a processor, and the choice between them."""
