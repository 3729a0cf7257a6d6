/* { "does": "a SharedArray is made in the init code only", "exception": "init code" } */
import { SharedArray } from 'k6/data';
export default function () {
  new SharedArray('late', () => []);
}
