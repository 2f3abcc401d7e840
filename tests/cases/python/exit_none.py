print("done")
exit_code = None
try:
    input()
except EOFError as error:
    print(error)
try:
    exit(3)
except SystemExit as error:
    print(error.code)
quit()
