from torch.export.unflatten import UnflattenedModule
print(UnflattenedModule)
