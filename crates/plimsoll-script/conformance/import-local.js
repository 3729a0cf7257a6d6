/* { "does": "local modules are imported by their full name, once per virtual user", "k6": "k6 runs the init code once more", "console": ["lib loaded", "3 2 value"] } */
import { add, count } from './data/lib.js';
import * as lib from './data/../data/lib.js';
export default function () {
  lib.bump();
  console.log(add(1, 2), count() + 1, __ENV.NAME);
}
