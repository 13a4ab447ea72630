export {
  type Fault,
  type FaultPlan,
  type FaultyStorage,
  faultyStorage,
} from '../../src/testing/faulty-storage.js';
