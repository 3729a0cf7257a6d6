/* { "own_context": "not an ES module", "does": "names are imported from a bundle as the importer asks for them", "console": ["3 deleted it 3"] } */
import { add, delete as remove } from './data/bundle.js';
import * as bundle from './data/bundle.js';
export default function () {
  console.log(add(1, 2), remove('it'), bundle.add(1, 2));
}
