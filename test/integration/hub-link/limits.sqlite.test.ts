import { openHubEngine } from '../../support/hub-engines.js';
import { limitsSuite } from '../worker/limits-suite.js';

// Budgets are those of whoever claims, and that is the hub.
const budgets = {
  RESOURCE_QUEUE_COST_BUDGETS: 'heavy=5',
  RESOURCE_GROUP_COST_BUDGETS: 'shared=4',
};

limitsSuite('sqlite', (engine) => openHubEngine(engine, budgets));
