import { openHubEngine } from '../../support/hub-engines.js';
import { upcastSuite } from '../worker/upcast-suite.js';

upcastSuite('sqlite', openHubEngine);
