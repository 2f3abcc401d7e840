WHERE = __name__
