// Ends by itself, although it has an instance that nobody closed.
import { plimsoll } from '../../index.mjs';

plimsoll();
process.disconnect();
