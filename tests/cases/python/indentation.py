def f(x):
print(f(1))
