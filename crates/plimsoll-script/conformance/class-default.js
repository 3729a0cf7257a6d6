/* { "does": "functions and classes of every form of export keep their names and order", "console": ["default Named inner 3 3 true"] } */
import Anonymous, { Named, three as number, star } from './data/exports.js';
import * as all from './data/exports.js';
export { three as kept } from './data/exports.js';
export * from './data/exports.js';
export default function () {
  console.log(Anonymous.name, Named.name, star(), number, all.three, new Anonymous() instanceof all.default);
}
