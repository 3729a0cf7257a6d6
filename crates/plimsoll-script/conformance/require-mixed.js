/* { "own_context": "require", "does": "require works beside import", "console": ["inner true"] } */
import { check } from 'k6';
const { name } = require('./data/inner.js');
export default function () {
  console.log(name, check(1, { a: true }));
}
