"""What is commonly done with graphs."""
