/* { "does": "response headers have canonical names; repeated ones are joined", "console": ["1, 2 e undefined"] } */
import http from 'k6/http';
export default function () {
  const { headers } = http.get('http://h.test/multi');
  console.log(headers['X-Many'], headers.Etag, headers.etag);
}
