"""What figures share: how they look and are saved, what they are told, names that fit, intervals and cells."""
