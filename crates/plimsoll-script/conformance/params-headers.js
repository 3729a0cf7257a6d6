/* { "does": "headers go out as given; numbers become text", "console": ["1 two a.test"] } */
import http from 'k6/http';
export default function () {
  const seen = http.get('http://h.test/', { headers: { 'X-One': 1, 'x-two': 'two', Host: 'a.test' } }).json('headers');
  console.log(seen['x-one'], seen['x-two'], seen.host);
}
