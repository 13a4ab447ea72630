import { MemoryStorage } from '../../src/storage/memory/storage.js';
import { storageSuite } from './storage-suite.js';

storageSuite({
  name: 'memory',
  open: async () => {
    let offsetMs = 0;
    const storage = new MemoryStorage({ clock: { offsetMs: () => offsetMs } });
    await storage.open();
    return {
      storage,
      clock: { advance: (ms) => void (offsetMs += ms) },
      [Symbol.asyncDispose]: () => storage.close(),
    };
  },
});
