/* { "does": "204 and 304 have no body, whatever responseType asks for", "console": ["null null null 0"] } */
import http from 'k6/http';
export default function () {
  const of = (status, params) => http.get(`http://h.test/status/${status}`, params).body;
  console.log(of(204), of(304), of(204, { responseType: 'binary' }), of(404).length);
}
