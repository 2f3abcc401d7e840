"""What is worth saving within a budget of memory."""
