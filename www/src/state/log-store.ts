// Logs that the browser keeps until the visitor closes them, in IndexedDB. It may be full or forbidden: then nothing is kept, and nothing
// here throws.
const DATABASE = "aot-playground";
const STORE = "logs";

/** A file of a log as the browser keeps it: its bytes stay on the disk until they are read. */
export interface KeptFile {
  name: string;
  blob: Blob;
}

export interface StoredLog {
  key: number;
  name: string;
  files: readonly KeptFile[];
}

function database(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: "key", autoIncrement: true });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("no database"));
    request.onblocked = () => reject(new Error("no database"));
  });
}

async function perform<T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const open = await database();
  try {
    return await new Promise<T>((resolve, reject) => {
      const transaction = open.transaction(STORE, mode);
      const request = act(transaction.objectStore(STORE));
      // Kept is what is written, not what is asked for.
      transaction.oncomplete = () => resolve(request.result);
      transaction.onerror = transaction.onabort = () => reject(transaction.error ?? new Error("not kept"));
    });
  } finally {
    open.close();
  }
}

/** What is kept, oldest first. */
export async function storedLogs(): Promise<StoredLog[]> {
  try {
    const all: unknown[] = await perform("readonly", (store) => store.getAll());
    return all.filter(isStored);
  } catch {
    return [];
  }
}

/** Another version, or another hand, may have written it. */
function isStored(raw: unknown): raw is StoredLog {
  const { key, name, files } = (raw ?? {}) as Partial<StoredLog>;
  const isFile = (file: Partial<KeptFile> | undefined): boolean => typeof file?.name === "string" && file.blob instanceof Blob;
  return typeof key === "number" && typeof name === "string" && Array.isArray(files) && files.every(isFile);
}

/** Keeps a log; its key, or `undefined` where the browser does not keep it. */
export async function storeLog(name: string, files: readonly KeptFile[]): Promise<number | undefined> {
  try {
    return Number(await perform("readwrite", (store) => store.add({ name, files })));
  } catch {
    return undefined;
  }
}

/** Deletes a log. */
export async function deleteLog(key: number): Promise<void> {
  try {
    await perform("readwrite", (store) => store.delete(key));
  } catch {
    // What can't be deleted was not kept.
  }
}
