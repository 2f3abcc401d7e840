print("done")
exit_code = None
raise SystemExit
