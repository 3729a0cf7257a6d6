/* { "does": "a SharedArray cannot be changed", "exception": "cannot be changed" } */
import { SharedArray } from 'k6/data';
const users = new SharedArray('users', () => [1]);
export default function () {
  users[0] = 2;
}
