"""What the tests of PyTorch share with scripts."""
