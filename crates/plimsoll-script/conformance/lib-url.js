/* { "does": "the url library", "console": ["http://h.test/?a=1"] } */
import { URL } from 'https://jslib.k6.io/url/1.0.0/index.js';
export default function () {
  const url = new URL('http://h.test');
  url.searchParams.append('a', '1');
  console.log(url.toString());
}
