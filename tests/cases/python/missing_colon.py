x = 1
while True print(x)
