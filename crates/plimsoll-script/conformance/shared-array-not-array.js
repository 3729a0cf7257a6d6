/* { "does": "the function of a SharedArray must return an array", "load_error": "must return an array", "exit": 107 } */
import { SharedArray } from 'k6/data';
new SharedArray('x', () => ({}));
export default function () {
  return;
}
