/* { "own_context": "not an ES module", "does": "modules of the require kind can be imported", "console": ["3 4 inner"] } */
import tools, { twice } from './data/common.js';
export default function () {
  console.log(tools.add(1, 2), twice(2), tools.inner);
}
