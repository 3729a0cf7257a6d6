/* { "does": "functions are also named exports", "requests": ["GET /"], "console": ["function"] } */
import { get, batch } from 'k6/http';
export default function () {
  get('http://h.test/');
  console.log(typeof batch);
}
