export { type Fault, faultyStorage } from '../../src/testing/faulty-storage.js';
