import { openHubEngine } from '../../support/hub-engines.js';
import { queuesSuite } from '../worker/queues-suite.js';

queuesSuite('sqlite', openHubEngine);
