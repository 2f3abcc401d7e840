"""What passes are made of, and run by."""
