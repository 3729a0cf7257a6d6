/* { "does": "an object becomes a form; arrays repeat the name, null shows as k6 writes it", "warnings": ["\"d\" is an object"], "console": ["a=1&b=x+y&c=%3Cnil%3E&d=map%5Be%3A1%5D&f=1&f=2", "application/x-www-form-urlencoded"] } */
import http from 'k6/http';
export default function () {
  const seen = http.post('http://h.test/post', { a: 1, b: 'x y', c: null, d: { e: 1 }, f: [1, 2] }).json();
  console.log(seen.body);
  console.log(seen.headers['content-type']);
}
