FACTOR = 3
MODE = "sin"
